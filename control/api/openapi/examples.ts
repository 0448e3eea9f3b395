/**
 * One example of request and response for each operation, by its `operationId`. Together they describe one consistent
 * case.
 */
import accounts from './examples/accounts.json' with { type: 'json' }
import calls from './examples/calls.json' with { type: 'json' }
import campaigns from './examples/campaigns.json' with { type: 'json' }
import contacts from './examples/contacts.json' with { type: 'json' }
import leads from './examples/leads.json' with { type: 'json' }
import lines from './examples/lines.json' with { type: 'json' }
import projects from './examples/projects.json' with { type: 'json' }
import webhooks from './examples/webhooks.json' with { type: 'json' }

interface Example {
  request?: unknown
  answer?: unknown
}

export const examples: Record<string, Example> = {
  ...calls,
  ...projects,
  ...contacts,
  ...campaigns,
  ...leads,
  ...lines,
  ...webhooks,
  ...accounts,
}
