/** Data retention, erasure, the audit log and account deletion. */
import { Tabs } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useNavigate, useParams } from 'react-router'
import NotFound from '../ui/not-found.tsx'
import { Page } from '../ui/page.tsx'
import { oneOf } from '../ui/search-state.ts'
import { Audit } from './audit.tsx'
import { DeleteAccount } from './delete-account.tsx'
import { Forget } from './forget.tsx'
import { Retention } from './retention.tsx'

const panels = { retention: Retention, forget: Forget, audit: Audit, account: DeleteAccount }
const tabs = ['retention', 'forget', 'audit', 'account'] as const

export default function Data() {
  const { t } = useTranslation('data')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const { tab: asked = 'retention' } = useParams()
  const tab = oneOf(asked, tabs)
  if (tab === undefined) return <NotFound />
  const Panel = panels[tab]
  return (
    <Page title={common('nav.data')}>
      <Tabs
        value={tab}
        onChange={next => navigate(next === 'retention' ? '/data' : `/data/${next}`)}
        keepMounted={false}
      >
        <Tabs.List mb="md" aria-label={common('nav.data')}>
          {tabs.map(one => (
            <Tabs.Tab key={one} value={one}>
              {t(`tabs.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          <Panel />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}
