/**
 * One line of the soak's table: the memory of the gateway, its open files and the sizes of its database files.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { slope } from '../../bench/kit/stats.ts'
import type { ProcessMemory } from './chat-server.ts'

export interface Sample {
  /** Minutes since the first message. */
  readonly minute: number
  readonly turns: number
  /** MB of 2^20 bytes. */
  readonly rss: number
  /** The smallest value since the last sample, which is close to what a garbage collection leaves. */
  readonly heapUsed: number
  readonly heapTotal: number
  readonly external: number
  readonly openFiles: number
  readonly threads: number
  readonly database: number
  readonly wal: number
  readonly logs: number
}

const mb = 2 ** 20

export interface Sampler {
  /** A report of the process about itself. */
  add(memory: ProcessMemory): void
  take(minute: number, turns: number): Sample
}

export function createSampler(pid: number, home: string): Sampler {
  let lowest: ProcessMemory | undefined
  let newest: ProcessMemory | undefined
  return {
    add(memory) {
      newest = memory
      if (lowest === undefined || memory.heapUsed < lowest.heapUsed) lowest = memory
    },
    take(minute, turns) {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN)
      const sample = {
        minute,
        turns,
        rss: field('VmRSS') / 1024,
        heapUsed: (lowest?.heapUsed ?? Number.NaN) / mb,
        heapTotal: (newest?.heapTotal ?? Number.NaN) / mb,
        external: (newest?.external ?? Number.NaN) / mb,
        openFiles: readdirSync(`/proc/${pid}/fd`).length,
        threads: field('Threads'),
        database: sizeOf(join(home, 'state.db')),
        wal: sizeOf(join(home, 'state.db-wal')),
        logs: folderSize(join(home, 'logs')),
      }
      lowest = undefined
      return sample
    },
  }
}

/** Growth of the resident memory, MB per hour, by linear regression. */
export function growthPerHour(samples: readonly Sample[]): number {
  return slope(samples.map(({ minute, rss }) => [minute / 60, rss] as const))
}

export const tableHead =
  ' minute   turns   RSS MB  heap used  heap total  external  files  threads  database    WAL   logs'

export function tableLine(sample: Sample): string {
  const { minute, turns, rss, heapUsed, heapTotal, external, openFiles, threads, database, wal, logs } = sample
  const cell = (value: number, width: number, digits = 1) => value.toFixed(digits).padStart(width)
  return [
    cell(minute, 7),
    cell(turns, 8, 0),
    cell(rss, 9),
    cell(heapUsed, 11),
    cell(heapTotal, 12),
    cell(external, 10),
    cell(openFiles, 7, 0),
    cell(threads, 9, 0),
    cell(database, 10),
    cell(wal, 7),
    cell(logs, 7),
  ].join('')
}

function sizeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / mb
}

function folderSize(path: string): number {
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}
