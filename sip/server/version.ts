/**
 * The version reported to applications: the drachtio-server release whose protocol this is (drachtio-srf pings from
 * v0.8.2 on), with a suffix.
 */
export const VERSION = 'v0.9.10-parley'

/** True for this server, which ends the calls of an application that is gone; a drachtio-server does not. */
export const isEmbedded = (version: string): boolean => version.endsWith('-parley')
