variable "project" {
  description = "The project that pays and holds everything."
  type        = string
}

variable "region" {
  description = "The region of the job and its buckets."
  type        = string
  default     = "europe-west1"
}

variable "image" {
  description = "The image of deploy/dataflow/Dockerfile, for launcher and workers."
  type        = string
}

variable "template" {
  description = "Where `gcloud dataflow flex-template build` put the template (gs://…/gradebeam.json)."
  type        = string
}

variable "logs_bucket" {
  description = "An existing bucket with the logs; the job may only read it."
  type        = string
}

variable "suite" {
  description = "The suite file (gs://…)."
  type        = string
}

variable "input" {
  description = "Globs to read instead of the suite's, separated by semicolons."
  type        = string
  default     = ""
}

variable "max_workers" {
  description = "The most workers; limits of judges are divided among them."
  type        = number
  default     = 20
}

variable "machine_type" {
  description = "The workers' machines."
  type        = string
  default     = "n2-standard-4"
}
