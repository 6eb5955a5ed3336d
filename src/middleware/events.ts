/**
 * Events as subscribers receive them, in the format of ATOF 0.1 (`contract/middleware.md` §1.9), and their ids.
 */
import { type RandomBytes, systemRandom } from '../lib/ids.ts'
import type { EventFields, Fields, ManagedEvent, ScopeType } from './contract.ts'
import { deepCopy } from './copy.ts'

interface EventSpec {
  readonly uuid: string
  readonly parent: string | null
  readonly us: number
  readonly name: string
  readonly category: ScopeType
  readonly profile: Fields | null
  readonly data: unknown
  readonly metadata: Fields | null
}

/** Sanitizers may replace the fields before the first subscriber receives the event. */
export abstract class EventRecord implements ManagedEvent {
  abstract readonly kind: 'scope' | 'mark'
  readonly atof_version = '0.1'
  readonly uuid: string
  readonly parent_uuid: string | null
  readonly timestampUs: number
  readonly name: string
  readonly category: ScopeType
  category_profile: Fields | null
  data: unknown
  readonly data_schema = null
  metadata: Fields | null

  constructor({ uuid, parent, us, name, category, profile, data, metadata }: EventSpec) {
    this.uuid = uuid
    this.parent_uuid = parent
    this.timestampUs = us
    this.name = name
    this.category = category
    this.category_profile = profile
    this.data = data
    this.metadata = metadata
  }

  get timestamp(): string {
    return formatMicroTimestamp(this.timestampUs)
  }

  replaceFields({ data, category_profile, metadata }: EventFields): void {
    this.data = data
    this.category_profile = category_profile
    this.metadata = metadata
  }

  /** A copy whose changes do not affect this event. */
  abstract copy(): EventRecord

  abstract toJSON(): Fields

  protected copiedSpec(): EventSpec {
    return {
      uuid: this.uuid,
      parent: this.parent_uuid,
      us: this.timestampUs,
      name: this.name,
      category: this.category,
      profile: deepCopy(this.category_profile),
      data: deepCopy(this.data),
      metadata: deepCopy(this.metadata),
    }
  }
}

export class MarkEvent extends EventRecord {
  readonly kind = 'mark'

  copy(): MarkEvent {
    return new MarkEvent(this.copiedSpec())
  }

  toJSON(): Fields {
    const { kind, atof_version, uuid, parent_uuid, timestamp, name } = this
    const { category, category_profile, data = null, data_schema, metadata } = this
    return {
      kind,
      atof_version,
      uuid,
      parent_uuid,
      timestamp,
      name,
      category,
      category_profile,
      data,
      data_schema,
      metadata,
    }
  }
}

export class ScopeEvent extends EventRecord {
  readonly kind = 'scope'
  readonly scope_category: 'start' | 'end'
  readonly attributes: readonly string[]

  constructor(edge: 'start' | 'end', attributes: readonly string[], spec: EventSpec) {
    super(spec)
    this.scope_category = edge
    this.attributes = attributes
  }

  copy(): ScopeEvent {
    return new ScopeEvent(this.scope_category, [...this.attributes], this.copiedSpec())
  }

  toJSON(): Fields {
    const { kind, atof_version, uuid, parent_uuid, timestamp, name, scope_category } = this
    const { category, category_profile, attributes, data = null, data_schema, metadata } = this
    return {
      ...{ kind, atof_version, uuid, parent_uuid, timestamp, name, scope_category },
      ...{ category, category_profile, attributes, data, data_schema, metadata },
    }
  }
}

/** `2026-01-02T03:04:05.123456Z`, the format of ATOF. */
export function formatMicroTimestamp(us: number): string {
  const ms = Math.floor(us / 1_000)
  return `${new Date(ms).toISOString().slice(0, -1)}${String(Math.floor(us - ms * 1_000)).padStart(3, '0')}Z`
}

/** Generates a uuid of version 7 (RFC 9562 §5.7) for a time, µs since 1970. */
export type EventIdGenerator = (us: number) => string

const poolBytes = 4_096
/** Random hexadecimal digits of one id; one of them also supplies the two variant bits. */
const digitsPerId = 19

/** Fast, because it fetches random bytes in pools. */
export function createEventIdGenerator(random: RandomBytes = systemRandom): EventIdGenerator {
  let pool = ''
  let used = 0
  let lastMs = -1
  let time = ''
  return (us) => {
    const ms = Math.floor(us / 1_000)
    if (ms !== lastMs) {
      const digits = ms.toString(16).padStart(12, '0')
      time = `${digits.slice(0, 8)}-${digits.slice(8)}`
      lastMs = ms
    }
    if (used + digitsPerId > pool.length) {
      pool = Buffer.from(random(poolBytes)).toString('hex')
      used = 0
    }
    const at = used
    used += digitsPerId
    const variant = '89ab'[pool.charCodeAt(at) & 3]
    return `${time}-7${pool.slice(at + 1, at + 4)}-${variant}${pool.slice(at + 4, at + 7)}-${pool.slice(at + 7, at + digitsPerId)}`
  }
}
