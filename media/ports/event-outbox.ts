/** Port for the engine's event outbox on disk. */

/** Events that could not be sent yet, kept on disk. They survive the process, but not the loss of the disk. */
export interface EventOutbox {
  /** Appends events behind the existing ones, now or soon. A write error is logged and has no other effect. */
  append(events: readonly string[]): void
  /** Removes everything: all appended events have been sent. */
  clear(): void
  /** Events that earlier processes of this engine left, oldest first. Call `acknowledge` once they have been sent. */
  pending(): Promise<{ events: string[]; acknowledge(): Promise<void> }>
}
