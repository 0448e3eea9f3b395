/**
 * One example of request and response for each operation, by its `operationId`. Together they describe one consistent
 * case.
 */
import { accountExamples } from './accounts.ts'
import { callExamples } from './calls.ts'
import { campaignExamples } from './campaigns.ts'
import { contactExamples } from './contacts.ts'
import { leadExamples } from './leads.ts'
import { lineExamples } from './lines.ts'
import { projectExamples } from './projects.ts'
import { webhookExamples } from './webhooks.ts'

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
