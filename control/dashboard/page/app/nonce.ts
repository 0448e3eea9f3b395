/** What lets our own style elements past the content security policy; control makes another one for each visit. */
export const nonce = (): string => document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
