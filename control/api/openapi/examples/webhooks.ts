import { CREATED, DELIVERY, ENDED, gone, page, WEBHOOK } from './common.ts'

const webhook = {
  id: WEBHOOK,
  url: 'https://example.com/hooks/parley',
  events: ['call.completed', 'call.failed'],
  enabled: true,
  disabled_reason: null,
  created_at: CREATED,
}
const webhookWithSecret = { ...webhook, secret: 'whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE=' }
const delivery = {
  id: DELIVERY,
  event: 'call.completed',
  status: 'delivered',
  created_at: ENDED,
  next_attempt_at: null,
  attempts: [{ attempt: 1, at: ENDED, http_status: 204, error: null, ms: 38, response: null }],
}
const waiting = { ...delivery, status: 'pending', attempts: [] }

export const webhookExamples = {
  list_webhooks: { answer: page(webhook) },
  create_webhook: { request: { url: webhook.url, events: webhook.events }, answer: webhookWithSecret },
  get_webhook: { answer: webhook },
  update_webhook: { request: { enabled: false }, answer: { ...webhook, enabled: false } },
  delete_webhook: gone(WEBHOOK),
  rotate_webhook_secret: { answer: webhookWithSecret },
  list_webhook_deliveries: { answer: page(delivery) },
  get_webhook_delivery: { answer: delivery },
  test_webhook: { answer: { ...waiting, event: 'test' } },
  replay_webhook_delivery: { answer: waiting },
}
