const FOREIGN_KEY_VIOLATION = '23503'
const TRIES = 5

/** Who deletes a row that others may begin to point at just then: all of it anew, with those others. */
export async function againWhenReferenced<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: string }).code !== FOREIGN_KEY_VIOLATION || tried === TRIES) throw error
    }
  }
}
