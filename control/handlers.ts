/** Handlers of domain events. Each runs in the transaction of the module that raises the event. */
import { removeSourcesOf } from './knowledge/service.ts'
import { noteEnded } from './outreach/campaigns/results-of-calls.ts'
import { stopCampaignsOf } from './outreach/campaigns/status.ts'
import { closeEnded } from './telephony/realtime/ended-calls.ts'
import { sendEndedWebhooks } from './webhooks/ended-calls.ts'

export const handlers = {
  callEnded: [noteEnded, closeEnded, sendEndedWebhooks],
  projectDeleted: [stopCampaignsOf, removeSourcesOf],
}
