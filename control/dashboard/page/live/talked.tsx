import { Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { duration } from '../ui/format.ts'

/** The call duration, updated every second. */
export function Talked({ since }: { since: string }) {
  const { t } = useTranslation('live')
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <Text size="sm" role="timer" aria-label={t('talked')} ff="monospace">
      {duration(Math.max(0, (now - Date.parse(since)) / 1000))}
    </Text>
  )
}
