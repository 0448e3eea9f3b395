/** API keys, webhooks and MCP access. */
import { Tabs } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useNavigate, useParams } from 'react-router'
import NotFound from '../ui/not-found.tsx'
import { Page } from '../ui/page.tsx'
import { oneOf } from '../ui/search-state.ts'
import { Keys } from './keys.tsx'
import { Mcp } from './mcp.tsx'
import { Webhooks } from './webhooks.tsx'

const tabs = ['api', 'webhooks', 'mcp'] as const

export default function Access() {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const { tab: asked = 'api' } = useParams()
  const tab = oneOf(asked, tabs)
  if (tab === undefined) return <NotFound />
  return (
    <Page title={common('nav.access')}>
      <Tabs value={tab} onChange={next => navigate(next === 'api' ? '/access' : `/access/${next}`)} keepMounted={false}>
        <Tabs.List mb="md" aria-label={common('nav.access')}>
          {tabs.map(one => (
            <Tabs.Tab key={one} value={one}>
              {t(`tabs.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="api">
          <Keys />
        </Tabs.Panel>
        <Tabs.Panel value="webhooks">
          <Webhooks />
        </Tabs.Panel>
        <Tabs.Panel value="mcp">
          <Mcp />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}
