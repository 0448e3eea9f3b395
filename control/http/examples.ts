/** One example of request and answer for each operation, by its `operationId`; they tell one story. */
import { accountExamples } from './examples-accounts.ts'
import { callExamples } from './examples-calls.ts'
import { campaignExamples } from './examples-campaigns.ts'
import { contactExamples } from './examples-contacts.ts'
import { leadExamples } from './examples-leads.ts'
import { lineExamples } from './examples-lines.ts'
import { projectExamples } from './examples-projects.ts'
import { webhookExamples } from './examples-webhooks.ts'

interface Example {
  request?: unknown
  answer?: unknown
}

export const examples: Record<string, Example> = {
  ...callExamples,
  ...projectExamples,
  ...contactExamples,
  ...campaignExamples,
  ...leadExamples,
  ...lineExamples,
  ...webhookExamples,
  ...accountExamples,
}
