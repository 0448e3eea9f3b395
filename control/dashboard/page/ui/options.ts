/** Options of a select field that offers named objects. */
export const namedOptions = (items: readonly { id: string; name: string }[]): { value: string; label: string }[] =>
  items.map(({ id, name }) => ({ value: id, label: name }))
