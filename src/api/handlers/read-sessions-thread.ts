/**
 * The thread that reads sessions and messages for the JSON API. It keeps its read-only connection between requests.
 */
import { parentPort } from 'node:worker_threads'
import { openReader, type StoreReader } from '../../store/sqlite/reader.ts'
import { toProblem } from '../../store/sqlite/thread-problem.ts'
import { type ReadRequest, readSessions } from './read-sessions.ts'

let reader: StoreReader | undefined

parentPort?.on('message', ({ database, request }: { database: string; request: ReadRequest }) => {
  try {
    reader ??= openReader(database)
    parentPort?.postMessage({ answer: reader.run(() => readSessions(request)) })
  } catch (error) {
    parentPort?.postMessage(toProblem(error))
  }
})
