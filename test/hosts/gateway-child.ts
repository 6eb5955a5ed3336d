/**
 * A gateway to be killed: starts a host with a child of its own, lets it spin, and prints the process ids.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { createHost } from '../../src/hosts/host.ts'
import { silentLog } from '../../src/lib/log.ts'
import { path } from './support.ts'

const { folder, file, language, command } = z
  .object({
    folder: z.string(),
    file: z.string(),
    language: z.enum(['node', 'python']),
    command: z.string().optional(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''))

const create = () =>
  createHost({
    name: 'hooks',
    language,
    modules: [{ name: 'a', path: join(folder, file) }],
    env: { PATH: path },
    cwd: folder,
    log: silentLog,
    command,
  })
const spinning = create()
const idle = create()
const pids = [
  await spinning.call({ module: 'a', function: 'pid', args: [] }),
  await spinning.call({ module: 'a', function: 'child', args: [] }),
  await idle.call({ module: 'a', function: 'pid', args: [] }),
]
void spinning.call({ module: 'a', function: 'spin', args: [] })
process.stdout.write(`${pids.map((result) => (result.ok ? result.value : result.failure.kind)).join(' ')}\n`)
