import { TextInput, type TextInputProps } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'

const TYPING_MS = 300

interface SearchInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  /** The current search. */
  value: string
  /** Called after a pause in typing. */
  onSearch: (q: string) => void
  /** Returns the search for a typed text; the trimmed text by default. */
  searchOf?: (text: string) => string
}

export function SearchInput({ value, onSearch, searchOf = text => text.trim(), ...props }: SearchInputProps) {
  const { t } = useTranslation()
  const [typed, setTyped] = useState(value)
  const search = useDebouncedCallback((text: string) => onSearch(searchOf(text)), TYPING_MS)
  // The browser's back button changes the search too.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `searchOf` is pure
  useEffect(() => setTyped(before => (searchOf(before) === value ? before : value)), [value])
  return (
    <TextInput
      type="search"
      aria-label={t('search')}
      leftSection={<IconSearch size={16} aria-hidden />}
      value={typed}
      onChange={event => {
        setTyped(event.currentTarget.value)
        search(event.currentTarget.value)
      }}
      {...props}
    />
  )
}
