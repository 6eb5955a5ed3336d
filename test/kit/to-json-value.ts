/**
 * A value as JSON has it: an optional field that is undefined is absent. For comparisons with what is sent or stored.
 */
export function toJsonValue<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value))
}
