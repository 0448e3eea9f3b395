/** The current status of a trunk: registered, reachable, or the error. */
import { Badge, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { spoken } from '../words/words.ts'
import { lastErrorOf } from './last-error.ts'
import type { Trunk } from './values.ts'

const colors = { registered: 'teal', registering: 'blue', failed: 'red', none: 'gray' } as const

type Reach = 'reachable' | 'silent' | 'unknown' | 'unwatched'
const reachColors: Record<Reach, string> = { reachable: 'teal', silent: 'red', unknown: 'gray', unwatched: 'gray' }

/** Reachability by OPTIONS; one responding host is enough. */
function reachOf({ status, options_interval_seconds }: Trunk): Reach {
  if (status.hosts.some(({ alive }) => alive)) return 'reachable'
  if (status.hosts.some(({ alive }) => alive === false)) return 'silent'
  return options_interval_seconds === null ? 'unwatched' : 'unknown'
}

export function Dot({ color, children }: { color: string; children: string }) {
  return (
    <Badge variant="dot" color={color} tt="none" size="md">
      {children}
    </Badge>
  )
}

/** The status of a trunk without registration is its reachability. */
export function TrunkState({ trunk }: { trunk: Trunk }) {
  const { t } = useTranslation('trunks')
  const { registration } = trunk.status
  if (trunk.mode !== 'ip') return <Dot color={colors[registration]}>{t(`registration.${registration}`)}</Dot>
  const reach = reachOf(trunk)
  return <Dot color={reachColors[reach]}>{t(`reach.${reach}`)}</Dot>
}

export function HostState({ alive }: { alive: boolean | null }) {
  const { t } = useTranslation('trunks')
  const reach = alive === null ? 'unknown' : alive ? 'reachable' : 'silent'
  return <Dot color={reachColors[reach]}>{t(`reach.${reach}`)}</Dot>
}

export function LastError({ of }: { of: string | null }) {
  const { t } = useTranslation('trunks')
  if (of === null) return null
  const known = spoken() === 'en' ? null : lastErrorOf(of)
  return (
    <Text size="sm" c="var(--mantine-color-error)" lang={known === null ? 'en' : undefined}>
      {known === null ? of : t(`lastErrors.${known.word}`, { code: known.code })}
    </Text>
  )
}
