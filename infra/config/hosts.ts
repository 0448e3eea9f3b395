/** What the host of an address says of it, as a URL or a setting gives it. */

const LOOPBACK = /^(?:localhost|::1|127(?:\.\d{1,3}){3})$/

/** Without the brackets that an IPv6 address has in a URL. */
export const bareHost = (host: string): string => host.replace(/^\[|\]$/g, '')
export const isLoopback = (host: string): boolean => LOOPBACK.test(bareHost(host))
export const isWildcard = (host: string): boolean => /^(?:0\.0\.0\.0|::)$/.test(bareHost(host))
