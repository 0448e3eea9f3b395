/**
 * Returns the nonce that the content security policy allows for style elements. Control generates one per page load.
 */
export const nonce = (): string => document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
