/**
 * The home of a gateway whose only platform is the chat server of the crash tests.
 */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Tokens of `context_length`; a half of it is the limit. */
export const windowTokens = 24_000

/** Writes a home whose platform connects to this chat server. The home channel is `home`. */
export async function prepareHome(home: string, chatUrl: string, modelUrl: string): Promise<void> {
  const wire = join(home, 'platforms', 'wire')
  await mkdir(wire, { recursive: true, mode: 0o700 })
  const source = new URL('./wire/', import.meta.url)
  await cp(new URL('plugin.yaml', source), join(wire, 'plugin.yaml'))
  // One path for all homes, so that the compile cache has the adapter without its types.
  await writeFile(
    join(wire, 'adapter.mjs'),
    `export { default } from ${JSON.stringify(new URL('adapter.ts', source).href)}\n`,
  )
  await writeFile(
    join(home, 'config.yaml'),
    `model: test
provider: openai
base_url: ${modelUrl}
api_key: none
http: { port: 0 }
auxiliary: { title_generation: { enabled: false } }
streaming: { edit_interval: 0.005, buffer_threshold: 8 }
display: { tool_progress: "off", busy_ack_enabled: false }
agent: { drain_timeout: 5 }
approvals: { destructive_slash_confirm: true }
terminal: { sandbox: "off" }
context_length: ${windowTokens}
compression: { in_place: false }
platforms:
  wire: { enabled: true, url: "${chatUrl}", home_channel: home, allow_from: [u1] }
`,
    { mode: 0o600 },
  )
}
