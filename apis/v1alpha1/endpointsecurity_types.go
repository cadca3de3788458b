package v1alpha1

// EndpointSecurity is what secures the endpoints of an exporter.
type EndpointSecurity struct {
	// secretName names a Secret in the same namespace, which the operator may read where
	// its component config/endpoint-security is deployed. Its keys:
	//
	// tls.crt and tls.key are the certificate, with its chain, and its private key, as in
	// a Secret of type kubernetes.io/tls: in PEM, RSA or EC.
	//
	// client-ca.crt, optional, holds the authorities in PEM of which a scraper needs a
	// certificate. ca.crt, which cert-manager writes, asks for none.
	//
	// username, passwordHash, salt, algorithm and iterations, all or none, are the
	// credentials that a scraper needs, as in httpServer.authentication.basic of the
	// stock exporter: hash and salt are hexadecimal, and the algorithm is PBKDF2WithHmacSHA1,
	// PBKDF2WithHmacSHA256 or PBKDF2WithHmacSHA512.
	//
	// The content is copied into each container, where root and the JVM's user can read
	// it. A change of it reaches every pod within some minutes, as spec.rollout allows,
	// without a load. Prometheus needs the scheme https, in tls_config the authority of
	// the certificate as ca_file and a name in it as server_name, since it scrapes
	// addresses, and what the Secret asks for: cert_file and key_file, or basic_auth.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a DNS subdomain: lower-case letters, digits, '-' and '.'"
	SecretName string `json:"secretName"`
}
