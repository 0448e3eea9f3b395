/** What this server says it is: the drachtio-server whose protocol it speaks (drachtio-srf pings from v0.8.2 on), and not it. */
export const VERSION = 'v0.9.10-parley'

/** Of a server that ends the calls of an application that is gone, which a drachtio-server does not. */
export const isEmbedded = (version: string): boolean => version.endsWith('-parley')
