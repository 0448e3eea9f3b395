/** The account menu: language, theme and log-out. */
import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core'
import { IconCheck, IconUser } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { api } from '../api/client.ts'
import { must, sessionQuery } from '../api/queries.ts'
import { type Language, languages, speak, spoken } from '../words/words.ts'

const schemes = ['auto', 'light', 'dark'] as const

export function Settings() {
  const { t } = useTranslation()
  const { data } = useQuery(sessionQuery)
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const logOut = useMutation({
    mutationFn: () => must(api.POST('/auth/log-out')),
    onSuccess: () => window.location.assign('/dashboard/log-in'),
  })
  const tick = (on: boolean) => (on ? <IconCheck size={14} aria-hidden /> : null)
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" size="lg" aria-label={t('settings')}>
          <IconUser size={20} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {data && (
          <Menu.Item component={Link} to="/account">
            {data.email ?? data.name}
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Label>{t('language')}</Menu.Label>
        {Object.entries(languages).map(([language, name]) => (
          <Menu.Item
            key={language}
            lang={language}
            rightSection={tick(spoken() === language)}
            onClick={() => speak(language as Language)}
          >
            {name}
          </Menu.Item>
        ))}
        <Menu.Label>{t('colors.title')}</Menu.Label>
        {schemes.map(scheme => (
          <Menu.Item key={scheme} rightSection={tick(colorScheme === scheme)} onClick={() => setColorScheme(scheme)}>
            {t(`colors.${scheme}`)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => logOut.mutate()}>{t('logOut')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
