/**
 * An editor for tests: the client of the SDK, connected in this process to the agent of `hermes acp`, which uses a test gateway.
 */
import type { TestContext } from 'node:test'
import {
  type ClientCapabilities,
  type ClientContext,
  client,
  methods,
  type PromptRequest,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { createAcpAgent } from '../../../src/clients/acp/agent.ts'
import type { TestGateway } from '../../kit/start-gateway.ts'
import { waitLimitMs } from '../../kit/wait-limit.ts'

export interface TestEditor {
  readonly agent: ClientContext
  /** All updates so far, with their session. */
  readonly updates: { readonly sessionId: string; readonly update: SessionUpdate }[]
  readonly warnings: string[]
  /** The permission requests so far. */
  readonly asked: RequestPermissionRequest[]
  /** Resolves with the first update that matches, also a past one. Rejects when that takes too long. */
  until(matches: (update: SessionUpdate) => boolean): Promise<SessionUpdate>
  /** The text of the agent in a session so far. */
  text(sessionId: string): string
  /** Opens a session in the folder. */
  open(cwd: string): Promise<string>
  say(sessionId: string, text: string): Promise<string>
  close(): Promise<void>
}

export interface TestEditorOptions {
  readonly capabilities?: ClientCapabilities
  /** The id of the option that the person chooses; undefined: the dialog is closed; 'never': nothing happens. */
  choose?(request: RequestPermissionRequest): string | undefined
  readonly isDaemon?: boolean
}

export async function openEditor(
  t: TestContext,
  gateway: TestGateway,
  { capabilities = {}, choose = () => 'never', isDaemon = true }: TestEditorOptions = {},
): Promise<TestEditor> {
  const updates: TestEditor['updates'] = []
  const asked: RequestPermissionRequest[] = []
  const warnings: string[] = []
  let changed = Promise.withResolvers<void>()
  const agent = createAcpAgent({
    version: '0.0.0-test',
    fetch,
    warn: (text) => void warnings.push(text),
    async openGateway() {
      const { url, token } = gateway.current()
      return { url, token: token(), model: 'test', isDaemon, close: async () => undefined }
    },
  })
  const connection = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params)
      changed.resolve()
      changed = Promise.withResolvers()
    })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params)
      const optionId = choose(params)
      if (optionId === 'never') await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
    })
    .connect(agent.app)
  const { agent: served } = connection
  const editor: TestEditor = {
    agent: served,
    updates,
    warnings,
    asked,
    async until(matches) {
      const deadline = AbortSignal.timeout(waitLimitMs())
      for (;;) {
        const found = updates.find(({ update }) => matches(update))
        if (found !== undefined) return found.update
        const late = Promise.withResolvers<never>()
        deadline.addEventListener('abort', () => late.reject(new Error(`no such update: ${JSON.stringify(updates)}`)))
        await Promise.race([changed.promise, late.promise])
      }
    },
    text: (sessionId) =>
      updates
        .flatMap((one) => {
          const { update } = one
          const isText = one.sessionId === sessionId && update.sessionUpdate === 'agent_message_chunk'
          return isText && update.content.type === 'text' ? [update.content.text] : []
        })
        .join(''),
    async open(cwd) {
      return (await served.request(methods.agent.session.new, { cwd, mcpServers: [] })).sessionId
    },
    async say(sessionId, text) {
      const prompt: PromptRequest = { sessionId, prompt: [{ type: 'text', text }] }
      return (await served.request(methods.agent.session.prompt, prompt)).stopReason
    },
    async close() {
      connection.close()
      await agent.close()
    },
  }
  t.after(() => editor.close())
  await served.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: capabilities })
  return editor
}
