/**
 * The thread that reads for the JSON API what may take long. It keeps its read-only connection between requests.
 */
import { parentPort } from 'node:worker_threads'
import { openReader, type StoreReader } from '../../store/sqlite/reader.ts'
import { toProblem } from '../../store/sqlite/thread-problem.ts'
import { type OperationRequest, readOperation } from './read-operation.ts'
import { type ReadRequest, readSessions } from './read-sessions.ts'

let reader: StoreReader | undefined

parentPort?.on('message', ({ database, request }: { database: string; request: ReadRequest | OperationRequest }) => {
  try {
    reader ??= openReader(database)
    const answer = reader.run<unknown>(() => ('about' in request ? readOperation(request) : readSessions(request)))
    parentPort?.postMessage({ answer })
  } catch (error) {
    parentPort?.postMessage(toProblem(error))
  }
})
