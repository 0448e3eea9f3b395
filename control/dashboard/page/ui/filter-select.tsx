import { Select } from '@mantine/core'

interface FilterSelectProps {
  label: string
  /** Shown when nothing is selected. */
  any: string
  options: { value: string; label: string }[]
  value: string | undefined
  onSelect: (value: string | null) => void
  searchable?: boolean
}

/** Filters a list by one of the options, or by none. */
export function FilterSelect({ label, any, options, value, onSelect, searchable = false }: FilterSelectProps) {
  return (
    <Select
      aria-label={label}
      placeholder={any}
      clearable
      searchable={searchable}
      data={options}
      value={value ?? null}
      onChange={onSelect}
    />
  )
}
