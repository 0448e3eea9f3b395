/** The application frame: navigation, account menu and balance. */
import { Anchor, AppShell, Badge, Burger, Button, Group, NavLink, ScrollArea, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  IconAddressBook,
  IconCoins,
  IconHome,
  IconPhone,
  IconPhoneOff,
  IconPlug,
  IconRobot,
  IconRouter,
  IconSearch,
  IconShieldLock,
  IconSpeakerphone,
  IconUsers,
} from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, Outlet, useLocation } from 'react-router'
import { onProofWanted } from '../api/proof.ts'
import { balanceQuery, limitsQuery, sessionQuery } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { money } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { Answered, Waiting } from '../ui/states.tsx'
import { Settings } from './settings.tsx'

type Role = Schemas['Session']['role']

/** Roles whose pages would only show errors have no entry in the menu. */
const managers = ['owner', 'admin'] as const satisfies Role[]
const builders = [...managers, 'developer'] as const satisfies Role[]
const payers = [...managers, 'billing', 'read_only'] as const satisfies Role[]
const readers = [...builders, 'operator', 'read_only'] as const satisfies Role[]

const places = [
  { to: '/', word: 'home', Icon: IconHome, roles: readers },
  { to: '/projects', word: 'projects', Icon: IconRobot, roles: readers },
  { to: '/calls', word: 'calls', Icon: IconPhone, roles: readers },
  { to: '/trunks', word: 'trunks', Icon: IconRouter, roles: readers },
  { to: '/campaigns', word: 'campaigns', Icon: IconSpeakerphone, roles: readers },
  { to: '/leads', word: 'leads', Icon: IconSearch, roles: readers },
  { to: '/contacts', word: 'contacts', Icon: IconAddressBook, roles: readers },
  { to: '/do-not-call', word: 'doNotCall', Icon: IconPhoneOff, roles: readers },
  { to: '/access', word: 'access', Icon: IconPlug, roles: builders },
  { to: '/balance', word: 'balance', Icon: IconCoins, roles: payers },
  { to: '/team', word: 'team', Icon: IconUsers, roles: managers },
  { to: '/data', word: 'data', Icon: IconShieldLock, roles: managers },
] as const satisfies { to: string; word: string; Icon: unknown; roles: readonly Role[] }[]

/** The whole menu until the session is known, so that it does not move for most people. */
const placesOf = (role: Role | undefined) =>
  places.filter(({ roles }) => role === undefined || (roles as readonly Role[]).includes(role))

export function Shell() {
  const { t } = useTranslation()
  const [opened, { toggle, close }] = useDisclosure()
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: close the menu after navigation
  useEffect(close, [pathname])
  const session = useQuery(sessionQuery)
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 230, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      <Anchor href="#main" className="visually-hidden">
        {t('skip')}
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={t('menu')}
              aria-expanded={opened}
            />
            <Link to="/" className="plain">
              <Text fw={700} size="lg">
                Parley
              </Text>
            </Link>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Balance />
            <Settings />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('menu')}>
        <ScrollArea>
          {placesOf(session.data?.role).map(({ to, word, Icon }) => (
            <NavLink
              key={to}
              component={Link}
              to={to}
              label={t(`nav.${word}`)}
              leftSection={<Icon size={18} aria-hidden />}
              active={to === '/' ? pathname === '/' : pathname.startsWith(to)}
              aria-current={pathname === to ? 'page' : undefined}
            />
          ))}
        </ScrollArea>
      </AppShell.Navbar>
      <Proof />
      <AppShell.Main id="main" tabIndex={-1}>
        <Stack maw={1200} mx="auto">
          <StoppedBanner />
          <Answered of={session}>
            {() => (
              <Suspense fallback={<Waiting />}>
                <Outlet />
              </Suspense>
            )}
          </Answered>
        </Stack>
      </AppShell.Main>
    </AppShell>
  )
}

/** On every page but the account's own, which says why and resumes. */
function StoppedBanner() {
  const { t } = useTranslation()
  const { pathname } = useLocation()
  const { data } = useQuery({ ...limitsQuery, refetchInterval: 30_000 })
  if (!data?.stopped || pathname === '/account') return null
  return (
    <Notice title={t('stopped.title')} color="red" role="alert">
      <Anchor component={Link} to="/account">
        {t('stopped.open')}
      </Anchor>
    </Notice>
  )
}

const ProveAgain = lazy(() => import('../account/prove-again.tsx'))

/** Loaded only when a proof is wanted. */
function Proof() {
  const [wanted, setWanted] = useState(false)
  useEffect(() => onProofWanted(() => setWanted(true)), [])
  if (!wanted) return null
  return (
    <Suspense fallback={null}>
      <ProveAgain onClose={() => setWanted(false)} />
    </Suspense>
  )
}

function Balance() {
  const { t } = useTranslation()
  const { data } = useQuery({ ...balanceQuery, refetchInterval: 30_000 })
  if (!data) return null
  const inactive = data.subscription.status === 'inactive'
  return (
    <Group gap={4} wrap="nowrap">
      {inactive && <Badge color="red">{t('subscriptionInactive')}</Badge>}
      <Button
        component={Link}
        to="/balance"
        variant="subtle"
        size="compact-md"
        aria-label={t('balanceIs', { amount: money(data.balance) })}
      >
        {money(data.balance)}
      </Button>
    </Group>
  )
}
