/** Code snippets to copy. They contain no translatable text; their labels are on the page. */

const PLACE_OF_KEY = 'svc_YOUR_KEY'

export const here = () => window.location.origin

/** Quotes a value for a shell. */
export const curl = (key: string) => `curl '${here()}/v1/public/projects' \\\n  --header 'X-API-Key: ${key}'`

export const verifiers = {
  node: `import { createHmac, timingSafeEqual } from 'node:crypto'

export function isGenuine(rawBody, headers, secret) {
  const timestamp = headers['webhook-timestamp']
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false
  const expected = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(\`\${headers['webhook-id']}.\${timestamp}.\${rawBody}\`)
    .digest()
  return headers['webhook-signature'].split(' ').some(signature => {
    const given = Buffer.from(signature.slice('v1,'.length), 'base64')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}`,
  python: `import base64, hashlib, hmac, time

def is_genuine(raw_body: bytes, headers, secret: str) -> bool:
    timestamp = headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{timestamp}.".encode() + raw_body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(
        hmac.compare_digest(signature.removeprefix("v1,"), expected)
        for signature in headers["webhook-signature"].split(" ")
    )`,
} as const

const json = (value: unknown) => JSON.stringify(value, null, 2)
const Authorization = `Bearer ${PLACE_OF_KEY}`

export interface Client {
  name: string
  /** Where the snippet belongs: a file name or one of these places. */
  place: { file: string } | 'shell' | 'request'
  text: string
}

/** Configuration snippets for MCP clients. */
export function mcpClients(): Client[] {
  const url = `${here()}/mcp`
  return [
    {
      name: 'Claude Code',
      place: 'shell',
      text: `claude mcp add --transport http parley ${url} \\\n  --header "Authorization: ${Authorization}"`,
    },
    {
      name: 'Claude Desktop',
      place: { file: 'claude_desktop_config.json' },
      text: json({
        mcpServers: {
          parley: {
            command: 'npx',
            // mcp-remote requires the header's name and value without a space between them.
            // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in
            args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${PARLEY_AUTHORIZATION}'],
            env: { PARLEY_AUTHORIZATION: Authorization },
          },
        },
      }),
    },
    {
      name: 'Cursor',
      place: { file: '.cursor/mcp.json' },
      text: json({ mcpServers: { parley: { url, headers: { Authorization } } } }),
    },
    {
      name: 'VS Code',
      place: { file: '.vscode/mcp.json' },
      text: json({
        inputs: [{ type: 'promptString', id: 'parley-key', description: 'Parley API key', password: true }],
        servers: {
          // biome-ignore lint/suspicious/noTemplateCurlyInString: the client asks for it
          parley: { type: 'http', url, headers: { Authorization: 'Bearer ${input:parley-key}' } },
        },
      }),
    },
    {
      name: 'OpenAI Responses API',
      place: 'request',
      text: json({
        tools: [
          {
            type: 'mcp',
            server_label: 'parley',
            server_url: url,
            headers: { Authorization },
            require_approval: 'always',
          },
        ],
      }),
    },
  ]
}
