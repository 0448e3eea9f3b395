/** Prints the addresses and credentials once everything runs. */
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Stack } from './stack.ts'

export function printAddresses({ demo, rooms, sip }: Stack, config: Config): void {
  const file = join(config.home, 'demo.json')
  console.log(`
Parley is up. Press Ctrl-C to stop it; data is kept.

  REST       ${demo.base_url}/v1/public   (docs: ${demo.base_url}/docs)
  SIP        ${demo.sip_uri}   (call it from this machine, for example with baresip)
  Softphone  ${demo.softphone.username} at ${sip.host}:${sip.port}   (password ${demo.softphone.password}; dial "agent")
  Talk       ${rooms ? `${demo.base_url}/talk   (in a browser, with the API key)` : 'unavailable until LiveKit is running, see above'}
  Dashboard  ${demo.dashboard_url}   (log in as ${demo.login.email}, password ${demo.login.password}${config.SIGN_UP === 'on' ? ', or sign up' : ''})
  MCP        ${demo.mcp_url}   (with the API key as bearer token)
  API key    in ${file}, with all addresses

  Try        curl -H "X-API-Key: $(node -p "require('${file}').api_key")" ${demo.base_url}/v1/public/calls
  Recording  ${join(config.home, 'demo-call.wav')} (demo call; caller left, agent right)
`)
}
