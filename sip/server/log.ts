/**
 * The subset of pino's interface that the server uses. Messages are constant, values are fields; bodies and credentials
 * are never logged.
 */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const nothing = (): void => {}
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
