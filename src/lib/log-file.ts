/**
 * A log file that grows to a limit and then moves aside: gateway.log, gateway.1.log, gateway.2.log …
 *
 * It never throws: a full disk must not stop the daemon. Lines that do not fit are counted, and the count is written
 * as soon as a line fits again.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from './errors.ts'
import { ensureDirectory } from './files.ts'

export interface LogFileOptions {
  readonly directory: string
  /** The name without `.log`; `gateway` if left out. */
  readonly name?: string
  /** Size at which a file moves aside; 10 MB if left out. */
  readonly maxBytes?: number
  /** How many files there are at most, the current one included; 7 if left out. */
  readonly keep?: number
  /** The line that tells how many lines were lost. */
  readonly formatLostLine: (lost: number) => string
}

export interface LogFile {
  /** Appends a line that ends with a line break. */
  write(line: string): void
  /** Lines that could not be written and were not yet reported in the file. */
  lostCount(): number
  close(): void
}

interface OpenFile {
  readonly descriptor: number
  size: number
}

export function createLogFile(options: LogFileOptions): LogFile {
  const { directory, name = 'gateway', maxBytes = 10 * 1024 * 1024, keep = 7, formatLostLine } = options
  const pathOf = (age: number) => join(directory, age === 0 ? `${name}.log` : `${name}.${age}.log`)
  let file: OpenFile | undefined
  let lost = 0

  const open = (): OpenFile => {
    ensureDirectory(directory, 0o700)
    const descriptor = openSync(pathOf(0), 'a', 0o600)
    return { descriptor, size: fstatSync(descriptor).size }
  }
  const closeFile = () => {
    if (file !== undefined) closeSync(file.descriptor)
    file = undefined
  }
  const rotate = () => {
    closeFile()
    for (let age = keep - 1; age > 0; age--) renameIfExists(pathOf(age - 1), pathOf(age))
  }
  const append = (bytes: Buffer) => {
    file ??= open()
    if (file.size > 0 && file.size + bytes.length > maxBytes) {
      rotate()
      file = open()
    }
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(file.descriptor, bytes, written)
      file.size += bytes.length
    } catch (error) {
      // Half a line would spoil the next one.
      if (written > 0) ftruncateSync(file.descriptor, file.size)
      throw error
    }
  }

  return {
    write: (line) => {
      try {
        append(Buffer.from(lost === 0 ? line : formatLostLine(lost) + line))
        lost = 0
      } catch {
        // There is no better place to report it than the file itself, once it takes lines again: see lostLine.
        lost += 1
      }
    },
    lostCount: () => lost,
    close: () => {
      try {
        closeFile()
      } catch {
        // The descriptor is gone either way; nothing that was written is lost by it.
        file = undefined
      }
    },
  }
}

function renameIfExists(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}
