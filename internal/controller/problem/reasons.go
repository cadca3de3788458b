package problem

// Reasons of the kubelet that are handled specially.
const (
	crashLoop           = "CrashLoopBackOff"
	imagePullBackOff    = "ImagePullBackOff"
	errImagePull        = "ErrImagePull"
	registryUnavailable = "RegistryUnavailable"
	signatureInvalid    = "SignatureValidationFailed"
	containerCreating   = "ContainerCreating"
	podInitializing     = "PodInitializing"
	runContainerError   = "RunContainerError"
	pending             = "Pending"
)
