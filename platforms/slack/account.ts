/**
 * One account of Slack as all parts of the adapter see it: its options, the calls of the Web API, and what the adapter
 * remembers of the workspace. The parts get this one value.
 */
import type { PlatformContext } from '#sdk'
import { type ApiCall, createApi } from './connection/api.ts'
import { createTransport, type SlackTransport } from './connection/transport.ts'
import { createJoinedThreads, type JoinedThreads } from './inbound/joined-threads.ts'
import { createNames, type Names } from './inbound/names.ts'
import type { WorkspaceIdentity } from './inbound/source.ts'
import { parseOptions, type SlackOptions } from './options.ts'

export interface SlackAccount {
  readonly context: PlatformContext
  readonly options: SlackOptions
  readonly transport: SlackTransport
  readonly call: ApiCall
  readonly names: Names
  readonly threads: JoinedThreads
  /** Its signal aborts when the adapter stops. */
  readonly stopping: AbortController
  /** Absent until the account is connected. */
  identity?: WorkspaceIdentity
}

/** Throws `config/invalid` when an option is missing or invalid. */
export function createAccount(context: PlatformContext): SlackAccount {
  const { clock, log } = context
  const options = parseOptions(context.options, context.account)
  const transport = createTransport(options, log)
  const stopping = new AbortController()
  const { signal } = stopping
  const call = createApi(transport.call, clock, signal, (error) => {
    // Before the account is connected, `connect` rejects with the same error.
    if (account.identity !== undefined) context.connection.refused(`bot_token: ${error}`)
  })
  const names = createNames(call, log, signal)
  const account: SlackAccount = {
    context,
    options,
    transport,
    call,
    names,
    threads: createJoinedThreads(context),
    stopping,
  }
  return account
}
