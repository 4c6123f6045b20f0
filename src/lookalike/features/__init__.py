"""One image becomes one vector, or one bag of local descriptors."""

from lookalike.features._color_grid import ColorGrid
from lookalike.features._color_histogram import ColorHistogram
from lookalike.features._color_texture import ColorTexture
from lookalike.features._dense_sift import DenseSift
from lookalike.features._efficientnet_layers import EfficientNetLite0Layers
from lookalike.features._efficientnet_lite0 import EfficientNetLite0
from lookalike.features._feature import Feature
from lookalike.features._foreground import foreground
from lookalike.features._gist import Gist
from lookalike.features._hog import Hog
from lookalike.features._joined import JoinedFeature
from lookalike.features._local_binary_patterns import LocalBinaryPatterns
from lookalike.features._onnx_feature import OnnxFeature
from lookalike.features._registered import register_onnx, unregister_onnx
from lookalike.features._registry import FeatureInfo, get_feature, list_features
from lookalike.features._sparse_multiscale_patches import SparseMultiscalePatches, patch_bands
from lookalike.features._user_folders import cache_folder, config_folder

__all__ = [
    "ColorGrid",
    "ColorHistogram",
    "ColorTexture",
    "DenseSift",
    "EfficientNetLite0",
    "EfficientNetLite0Layers",
    "Feature",
    "FeatureInfo",
    "Gist",
    "Hog",
    "JoinedFeature",
    "LocalBinaryPatterns",
    "OnnxFeature",
    "SparseMultiscalePatches",
    "cache_folder",
    "config_folder",
    "foreground",
    "get_feature",
    "list_features",
    "patch_bands",
    "register_onnx",
    "unregister_onnx",
]
