/**
 * The agent side of the Agent Client Protocol: an editor's requests become requests to the gateway (contract §5, S14).
 */
import {
  type AgentApp,
  type AgentContext,
  agent,
  type ClientCapabilities,
  type McpServer,
  methods,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk'
import { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import type { Editor } from './editor.ts'
import { modeState } from './modes.ts'
import { invalidParams, toRequestError } from './request-errors.ts'
import type { OpenSession } from './session.ts'
import { type AcpSessionsOptions, createAcpSessions } from './sessions.ts'
import { frameTooLong, maxFrameBytes } from './stdio.ts'

export interface AcpAgentOptions extends Omit<AcpSessionsOptions, 'editorOf'> {
  readonly version: string
}

export interface AcpAgent {
  readonly app: AgentApp
  /** The editor has gone. A gateway in this process ends with its turns; those of a daemon go on. May be called twice. */
  close(): Promise<void>
}

/** The stable protocol has no such method; it is offered as Hermes does. */
const sessionFork = 'session/fork'
const forkRequest = z.looseObject({
  sessionId: z.string(),
  cwd: z.string(),
  mcpServers: z.array(z.custom<McpServer>((value) => typeof value === 'object' && value !== null)).default([]),
})

export function createAcpAgent({ version, ...options }: AcpAgentOptions): AcpAgent {
  let abilities: Editor['abilities'] = { notices: false, terminals: false }
  const sessions = createAcpSessions({
    ...options,
    editorOf: (client) => editorOf(client, abilities, options.warn),
  })

  const app = agent({ name: 'hermes' })
    .onRequest(methods.agent.initialize, ({ params }) => {
      abilities = abilitiesOf(params.clientCapabilities)
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: 'hermes-gateway', title: 'Hermes', version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, audio: false, embeddedContext: true },
          mcpCapabilities: { http: true, sse: true },
          sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, ...{ fork: {} } },
        },
        // The gateway has the keys of the models.
        authMethods: [],
      }
    })
    .onRequest(methods.agent.authenticate, () => ({}))
    .onRequest(methods.agent.session.new, ({ client, params }) =>
      answer(async () => opened(await sessions.create(client, params))),
    )
    .onRequest(methods.agent.session.load, ({ client, params }) =>
      answer(async () => ({ modes: modeState((await sessions.reopen(client, params, true)).mode) })),
    )
    .onRequest(methods.agent.session.resume, ({ client, params }) =>
      answer(async () => ({ modes: modeState((await sessions.reopen(client, params, false)).mode) })),
    )
    .onRequest(sessionFork, forkRequest, ({ client, params }) =>
      answer(async () => opened(await sessions.fork(client, params))),
    )
    .onRequest(frameTooLong, z.unknown(), () => {
      throw invalidParams(`The message is longer than ${maxFrameBytes / 1_048_576} MB.`)
    })
    .onRequest(methods.agent.session.list, ({ params }) => answer(() => sessions.list(params)))
    .onRequest(methods.agent.session.setMode, ({ params }) =>
      answer(async () => {
        await sessions.setMode(params.sessionId, params.modeId)
        return {}
      }),
    )
    .onRequest(methods.agent.session.prompt, ({ client, params, signal }) =>
      answer(() => sessions.prompt(client, params.sessionId, params.prompt, signal)),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.cancel(params.sessionId))
    .onRequest(methods.agent.session.close, ({ params }) =>
      answer(async () => {
        await sessions.leave(params.sessionId)
        return {}
      }),
    )
    .onRequest(methods.agent.session.delete, ({ params }) =>
      answer(async () => {
        await sessions.remove(params.sessionId)
        return {}
      }),
    )
  return { app, close: sessions.close }
}

function abilitiesOf(able: ClientCapabilities | undefined): Editor['abilities'] {
  return { notices: able?.session?.notices != null, terminals: able?._meta?.['terminal_output'] === true }
}

function editorOf(client: AgentContext, abilities: Editor['abilities'], warn: (text: string) => void): Editor {
  return {
    abilities,
    async update(sessionId, update) {
      try {
        await client.notify(methods.client.session.update, { sessionId, update })
      } catch (error) {
        warn(`an update could not be sent: ${messageOf(error)}`)
      }
    },
    askPermission: (request, cancellationSignal) =>
      client.request(methods.client.session.requestPermission, request, {
        cancellationSignal,
        stopWaitingOnCancel: true,
      }),
  }
}

function opened(open: OpenSession) {
  return { sessionId: open.session.id, modes: modeState(open.mode) }
}

async function answer<Response>(handle: () => Promise<Response>): Promise<Response> {
  try {
    return await handle()
  } catch (error) {
    throw toRequestError(error)
  }
}
