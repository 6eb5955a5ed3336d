/**
 * A memory in a temporary directory, changed by calls of the tool `memory`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { MemoryReader } from '../../../src/agent/memory/access.ts'
import { memoryConfig } from '../../../src/agent/memory/config.ts'
import type { MemoryAccess, MemoryChange, MemoryDeps } from '../../../src/agent/memory/contract.ts'
import { createMemoryAccess } from '../../../src/agent/memory/memory-access.ts'
import { createMemoryStore } from '../../../src/agent/memory/memory-store.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Role } from '../../../src/message/authority.ts'
import { ownerAuthority } from '../../kit/authority.ts'
import { createWorkbench, type Result } from '../tools/workbench.ts'

export interface TestMemory {
  /** The directory of the files. */
  readonly directory: string
  readonly deps: MemoryDeps
  /** The access of the owner in a direct message. */
  readonly access: MemoryAccess
  /** Replaces the section `memory` of the configuration. */
  configure(section: Readonly<Record<string, unknown>>): void
  /** Calls the tool as the loop does. */
  call(args: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<Result>
  /** Whether an owner would be asked first. */
  asks(args: Readonly<Record<string, unknown>>, reader?: MemoryReader): Promise<boolean>
  /** What providers were told. */
  readonly told: readonly MemoryChange[]
  /** The content of a file. */
  text(name?: string): string
  /** Replaces a file, as an editor does. */
  edit(text: string | Uint8Array, name?: string): void
}

interface CallOptions {
  readonly reader?: MemoryReader
  readonly isApproved?: boolean
  readonly maxResultChars?: number
}

/** A person in a direct message. */
export function readerWith(role: Role, more: Partial<MemoryReader> = {}): MemoryReader {
  return { authority: { ...ownerAuthority, role }, isShared: false, isBackground: false, ...more }
}

export async function createTestMemory(t: TestContext, more: Partial<MemoryDeps> = {}): Promise<TestMemory> {
  let reader = readerWith('owner')
  const bench = await createWorkbench({ services: { memory: async () => accessOf(reader) } })
  t.after(() => bench[Symbol.asyncDispose]())
  const tools = await bench.registry.load()
  const directory = join(bench.home, 'memories')
  const told: MemoryChange[] = []
  let section = memoryConfig.memory.parse({})
  const settings = () => section
  const deps: MemoryDeps = {
    directory,
    settings: () => ({ memory: section }),
    holdsSecret: (text) => text.includes('sk-1'),
    clock: () => Date.UTC(2026, 0, 2),
    log: silentLog,
    failpoint: () => undefined,
    redact: (text) => text.replaceAll('token-of-the-gateway', '***'),
    onScanned: () => undefined,
    onRead: () => undefined,
    ...more,
  }
  const store = createMemoryStore(deps)
  const accessOf = (reader: MemoryReader) =>
    createMemoryAccess(store, settings, reader, (change) => void told.push(change))
  return {
    directory,
    deps,
    access: accessOf(readerWith('owner')),
    configure(changed) {
      section = memoryConfig.memory.parse(changed)
    },
    call(args, { reader: asking = readerWith('owner'), isApproved = false, maxResultChars = 50_000 } = {}) {
      reader = asking
      return bench.run('memory', args, { limits: { maxResultChars }, isApproved })
    },
    async asks(args, asking = readerWith('owner')) {
      reader = asking
      const parsed = tools.parse('memory', args)
      if (!parsed.ok) throw new Error(parsed.error)
      return (await parsed.call.approval?.(bench.context)) !== undefined
    },
    told,
    text: (name = 'MEMORY.md') => readFileSync(join(directory, name), 'utf8'),
    edit(text, name = 'MEMORY.md') {
      mkdirSync(directory, { recursive: true })
      writeFileSync(join(directory, name), text)
    },
  }
}
