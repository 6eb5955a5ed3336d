/**
 * The thread that compares paths and files with the patterns of a model, which may backtrack for hours.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { z } from 'zod'
import { createFileSearch } from './file-search.ts'

const dataSchema = z.object({
  target: z.enum(['content', 'files']),
  pattern: z.string(),
  fileGlob: z.string().optional(),
  output: z.enum(['lines', 'files', 'counts']).optional(),
  context: z.number().optional(),
  limit: z.number(),
})
const fileSchema = z.object({ path: z.string(), relativePath: z.string() })

const search = openSearch()
parentPort?.postMessage(typeof search === 'string' ? { problem: search } : {})
parentPort?.on('message', (message: unknown) => {
  void answer(message)
})

function openSearch() {
  try {
    return createFileSearch(dataSchema.parse(workerData))
  } catch (error) {
    // The pattern is invalid, and the model can send another one.
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}

async function answer(message: unknown): Promise<void> {
  const { path, relativePath } = fileSchema.parse(message)
  const hits = typeof search === 'string' ? [] : await search(path, relativePath)
  parentPort?.postMessage({ hits })
}
