/**
 * An editor that uses `hermes acp` beside a gateway that runs.
 */
import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'
import { killProcess } from './children.ts'
import { withHome } from './home.ts'

const main = fileURLToPath(new URL('../../../src/main.mjs', import.meta.url))

/** Runs `work` with one conversation of an editor. A prompt resolves when it is answered. */
export function withEditor<T>(home: string, work: (prompt: (text: string) => Promise<void>) => Promise<T>): Promise<T> {
  return withHome('', (cwd) => withConversation(home, cwd, work))
}

async function withConversation<T>(
  home: string,
  cwd: string,
  work: (prompt: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const child = spawn(process.execPath, [main, 'acp'], {
    env: { PATH: process.env['PATH'], HERMES_HOME: home, HOME: home },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  try {
    const { agent } = client({ name: 'bench' }).connect(
      ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)),
    )
    await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} })
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
    return await work(async (text) => {
      await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] })
    })
  } finally {
    await killProcess(child)
  }
}
