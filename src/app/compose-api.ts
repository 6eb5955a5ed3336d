/**
 * Composes the JSON API. Loaded with its first request.
 */
import type { ApiDeps } from '../flows/api/handle-request.ts'
import { HermesError } from '../lib/errors.ts'
import { createReaderThread } from '../store/sqlite/reader-thread.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export function composeApi(
  { options, store, accountDirectory, platforms, clock }: AppContext,
  { sessionServices, approvals }: Core,
): ApiDeps {
  return {
    store,
    clock,
    database: options.home.databaseFile,
    reader: createReaderThread(new URL('../flows/api/read-sessions-thread.ts', import.meta.url)),
    resetSession: sessionServices.resetSession,
    questions: approvals.questions.deps,
    accountDirectory,
    adapter: platforms.adapter,
    async openApi() {
      throw new HermesError('http/not-found', 'the document is not there yet')
    },
  }
}
