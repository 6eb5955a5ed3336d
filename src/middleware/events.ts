/**
 * The records that subscribers get, in the shape of ATOF 0.1 (`contract/middleware.md` §1.9).
 */
import type { EventFields, Fields, ManagedEvent, ScopeType } from './contract.ts'
import { formatMicroTimestamp } from './micro-clock.ts'

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

/** Sanitizers replace its parts before the first subscriber sees it; nobody changes it afterwards. */
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

  abstract toJSON(): Fields
}

export class MarkEvent extends EventRecord {
  readonly kind = 'mark'

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

  toJSON(): Fields {
    const { kind, atof_version, uuid, parent_uuid, timestamp, name, scope_category } = this
    const { category, category_profile, attributes, data = null, data_schema, metadata } = this
    return {
      ...{ kind, atof_version, uuid, parent_uuid, timestamp, name, scope_category },
      ...{ category, category_profile, attributes, data, data_schema, metadata },
    }
  }
}
