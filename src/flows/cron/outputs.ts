/**
 * What jobs have said: `cron/output/<id>/YYYY-MM-DD_HH-MM-SS.md` (contract hermes.md §4.8), the newest ones.
 */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobRun } from '../../cron/run-end.ts'
import { systemCode } from '../../lib/errors.ts'
import { ensureDirectory, writeFileAtomicAsync } from '../../lib/files.ts'

/** Resolves with the path. `directory`: `cron/output` of the home. `retention`: how many are kept of a job; below 1 all. */
export async function writeJobOutput(
  directory: string,
  retention: number,
  { stored: { job }, slot }: Pick<JobRun, 'stored' | 'slot'>,
  text: string,
): Promise<string> {
  const folder = join(directory, job.id)
  ensureDirectory(folder)
  const head = `# ${job.name}\n\n- Job: ${job.id}\n- Time: ${new Date(slot).toISOString()}\n- Schedule: ${job.schedule_display}\n`
  const path = join(folder, `${fileTime(slot)}.md`)
  await writeFileAtomicAsync(path, `${head}\n## Result\n\n${text}\n`)
  if (retention < 1) return path
  const files = await listOutputs(folder)
  for (const name of files.slice(0, Math.max(0, files.length - retention)))
    await rm(join(folder, name), { force: true })
  return path
}

const resultHeading = '\n## Result\n'

/** The latest result of a job; '' for none. `id`: of a stored job. */
export async function readLatestOutput(directory: string, id: string): Promise<string> {
  const folder = join(directory, id)
  const latest = (await listOutputs(folder)).at(-1)
  if (latest === undefined) return ''
  const text = await readFile(join(folder, latest), 'utf8')
  const begin = text.indexOf(resultHeading)
  return begin === -1 ? '' : text.slice(begin + resultHeading.length).trim()
}

async function listOutputs(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith('.md')).sort()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

function fileTime(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', '_').replaceAll(':', '-')
}
