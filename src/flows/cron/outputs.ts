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
  const content = `${head}\n## Result\n\n${text}\n`
  const path = await pathFor(folder, fileTime(slot), content)
  await writeFileAtomicAsync(path, content)
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

/**
 * Two runs in one second, such as one that a webhook asked for, have two files, which sort in the order of writing. A run whose end
 * is stored again after a crash has one.
 */
async function pathFor(folder: string, time: string, content: string): Promise<string> {
  const taken = new Set(await listOutputs(folder))
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? `${time}.md` : `${time}_${String(number).padStart(2, '0')}.md`
    const path = join(folder, name)
    if (!taken.has(name) || (await readFile(path, 'utf8')) === content) return path
  }
}

function fileTime(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', '_').replaceAll(':', '-')
}
