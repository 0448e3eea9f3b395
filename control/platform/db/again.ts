const FOREIGN_KEY_VIOLATION = '23503'
const TRIES = 5

/**
 * Repeats a transaction that deletes a row while others may start to refer to it; the repetition includes the new
 * references.
 */
export async function againWhenReferenced<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: string }).code !== FOREIGN_KEY_VIOLATION || tried === TRIES) throw error
    }
  }
}
