package v1alpha1

// EndpointSecurity configures how the endpoints of an exporter are secured.
type EndpointSecurity struct {
	// secretName is the name of a Secret in the same namespace. The operator can read it
	// if the component config/endpoint-security is deployed. Its keys are:
	//
	// tls.crt and tls.key: the certificate chain and its private key in PEM, RSA or EC,
	// as in a Secret of type kubernetes.io/tls.
	//
	// client-ca.crt (optional): the certificate authorities in PEM that a scraper's
	// certificate must be signed by. The key ca.crt, which cert-manager writes, does not
	// require client certificates.
	//
	// username, passwordHash, salt or saltText, algorithm and iterations (all or none):
	// the credentials that a scraper needs, as in httpServer.authentication.basic of the
	// stock exporter, whose salt is text. Hash and salt are hexadecimal; the algorithm is
	// PBKDF2WithHmacSHA1, PBKDF2WithHmacSHA256 or PBKDF2WithHmacSHA512.
	//
	// The content is copied into each container, where root and the JVM's user can read
	// it. A change reaches every pod within some minutes, according to spec.rollout,
	// without another load. Prometheus needs the scheme https; in tls_config the
	// certificate's authority as ca_file and a name in it as server_name, because it
	// scrapes addresses; and what the Secret requires: cert_file and key_file, or
	// basic_auth.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be a DNS subdomain: lower-case letters, digits, '-' and '.'"
	SecretName string `json:"secretName"`
}
