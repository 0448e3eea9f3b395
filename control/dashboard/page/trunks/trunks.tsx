/** The account's trunks, numbers and softphones. */
import { useTranslation } from 'react-i18next'
import { Page } from '../ui/page.tsx'
import { NumberList } from './number-list.tsx'
import { Section } from './section.tsx'
import { SoftphoneList } from './softphone-list.tsx'
import { AddTrunk, TrunkList } from './trunk-list.tsx'

export default function Trunks() {
  const { t } = useTranslation('trunks')
  return (
    <Page title={t('title')} actions={<AddTrunk />}>
      <Section title={t('trunks.heading')} lead={t('trunks.lead')}>
        <TrunkList />
      </Section>
      <Section title={t('numbers.heading')} lead={t('numbers.lead')}>
        <NumberList />
      </Section>
      <SoftphoneList />
    </Page>
  )
}
