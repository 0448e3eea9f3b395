/** Classifies the host of a URL or a setting. */

const LOOPBACK = /^(?:localhost|::1|127(?:\.\d{1,3}){3})$/

/** Removes the brackets of an IPv6 address. */
export const bareHost = (host: string): string => host.replace(/^\[|\]$/g, '')
export const isLoopback = (host: string): boolean => LOOPBACK.test(bareHost(host))
export const isWildcard = (host: string): boolean => /^(?:0\.0\.0\.0|::)$/.test(bareHost(host))
