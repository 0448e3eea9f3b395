/** Passkeys in the browser. Extensions are not sent: the API has no field for them. */
import { startAuthentication, startRegistration } from '@simplewebauthn/browser'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

/** Browsers refuse a page without HTTPS, and a host that is an IP address. */
export const canUsePasskeys = (): boolean =>
  window.isSecureContext &&
  typeof window.PublicKeyCredential === 'function' &&
  !/^(?:\d+\.){3}\d+$|^\[/.test(window.location.hostname)

type Create = Parameters<typeof startRegistration>[0]['optionsJSON']
type Get = Parameters<typeof startAuthentication>[0]['optionsJSON']

export async function createPasskey(options: Schemas['PasskeyCreationOptions']) {
  const { id, rawId, type, response } = await startRegistration({ optionsJSON: options as Create })
  const { clientDataJSON, attestationObject, transports } = response
  const sent = { clientDataJSON, attestationObject, ...(transports ? { transports } : {}) }
  return { id, rawId, type, response: sent }
}

/** Asks for a challenge and lets the person answer it with a passkey. */
export async function signWithPasskey() {
  const options = await must(api.POST('/auth/passkey-options'))
  const { id, rawId, type, response } = await startAuthentication({ optionsJSON: options as Get })
  const { clientDataJSON, authenticatorData, signature, userHandle } = response
  const sent = { clientDataJSON, authenticatorData, signature, ...(userHandle ? { userHandle } : {}) }
  return { id, rawId, type, response: sent }
}
