/**
 * The speed of the disk, measured together with everything that waits for it.
 */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The durations of fdatasync after appending one page, ms. */
export function fdatasyncTimes(count: number): number[] {
  const path = join(tmpdir(), `hermes-bench-disk-${process.pid}`)
  const file = openSync(path, 'w', 0o600)
  const page = Buffer.alloc(4_096, 1)
  try {
    return Array.from({ length: count }, () => {
      writeSync(file, page)
      const begun = performance.now()
      fdatasyncSync(file)
      return performance.now() - begun
    })
  } finally {
    closeSync(file)
    rmSync(path)
  }
}
