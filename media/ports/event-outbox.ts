/** The engine's event outbox on disk. */

/** Events that could not be told yet, on disk: they outlive the process, but not what their disk does not. */
export interface EventOutbox {
  /** Written behind what is there, at once or soon; a disk that says no is logged and costs no more than that. */
  append(events: readonly string[]): void
  /** All that was appended has been told. */
  clear(): void
  /** What earlier processes of this engine left, oldest first; `told`: now it has been. */
  left(): Promise<{ events: string[]; told(): Promise<void> }>
}
